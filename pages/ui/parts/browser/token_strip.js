// The prompt's tokens and the generated ones, in place: tokens are added, taken off and marked, never all redrawn.
const instances = new WeakMap()

function makeToken(token) {
  const node = document.createElement("span")
  node.className = `token ${token.phase}`
  node.append(document.createElement("wbr")) // lines break between tokens
  for (const char of token.label) {
    const part = document.createElement("bdi") // one isolate per mark keeps right-to-left text from moving others
    if ("␣↵⇥␍".includes(char)) part.className = "mark"
    part.textContent = char
    if (part.className || node.lastChild.className || node.lastChild.tagName === "WBR") node.append(part)
    else node.lastChild.textContent += char
  }
  node.title = token.hint
  node.dataset.hint = token.hint
  return node
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".strip")
  let state = instances.get(parentElement)
  if (!state) instances.set(parentElement, (state = { tokens: [], nodes: [] }))
  const phases = getComputedStyle(root).getPropertyValue("--st-chart-categorical-colors").split(",")
  root.style.setProperty("--prefill", phases[0])
  root.style.setProperty("--decode", phases[1])

  let kept = 0
  const same = (a, b) => a.label === b.label && a.hint === b.hint && a.phase === b.phase && a.index === b.index
  while (kept < state.tokens.length && kept < data.tokens.length && same(state.tokens[kept], data.tokens[kept])) kept++
  for (const node of state.nodes.splice(kept)) node.remove()
  state.tokens = data.tokens
  for (const token of data.tokens.slice(kept)) {
    const node = makeToken(token)
    if (token.index !== null) node.onclick = () => setTriggerValue("picked", { value: token.index })
    state.nodes.push(node)
    root.append(node)
  }
  state.nodes.forEach((node, place) => {
    const { index } = data.tokens[place]
    node.classList.toggle("newest", index !== null && index === data.shown)
    node.classList.toggle("later", index !== null && index > data.shown)
    node.classList.toggle("pick", index !== null)
  })
  root.dataset.empty = data.tokens.length ? "" : data.hint
  const newest = root.querySelector(".newest")
  const line = parseFloat(getComputedStyle(root).lineHeight)
  if (newest) root.scrollTop = Math.max(0, Math.ceil((newest.offsetTop + newest.offsetHeight - root.clientHeight) / line) * line)
}

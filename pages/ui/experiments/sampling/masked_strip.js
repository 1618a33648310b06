// The output, token by token, as a list box: one is selected by a click or by the arrow keys. All of it is set as text.
const instances = new WeakMap()
let count = 0

function makeToken(token, id) {
  const node = document.createElement("span")
  node.id = id
  node.className = `token ${token.kind}`
  node.setAttribute("role", "option")
  node.setAttribute("aria-label", token.hint)
  node.title = token.hint
  for (const char of token.label) {
    const part = document.createElement("bdi") // one isolate per mark keeps right-to-left text from moving others
    if ("␣↵⇥␍".includes(char)) part.className = "mark"
    part.textContent = char
    node.append(part)
  }
  return node
}

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".strip")
  let state = instances.get(parentElement)
  if (!state) instances.set(parentElement, (state = { tokens: [], id: `masked-${++count}` }))
  const phases = getComputedStyle(root).getPropertyValue("--st-chart-categorical-colors").split(",")
  root.style.setProperty("--decode", phases[1])

  const same = (a, b) => a && b && a.label === b.label && a.hint === b.hint && a.kind === b.kind
  let kept = 0
  while (kept < state.tokens.length && same(state.tokens[kept], data.tokens[kept])) kept++
  while (root.children.length > kept) root.lastElementChild.remove()
  data.tokens.slice(kept).forEach((token, place) => {
    root.append(document.createElement("span"))
    root.lastElementChild.replaceWith(makeToken(token, `${state.id}-${kept + place}`))
  })
  state.tokens = data.tokens

  const pick = (index) => {
    if (index < 0 || index >= data.tokens.length) return
    show(index)
    setStateValue("picked", { value: index, run: data.run })
  }
  const show = (index) => {
    state.shown = index
    for (const [place, node] of [...root.children].entries()) node.setAttribute("aria-selected", String(place === index))
    const node = root.children[index]
    if (!node) return root.removeAttribute("aria-activedescendant")
    root.setAttribute("aria-activedescendant", node.id)
    const top = node.offsetTop - root.offsetTop
    if (top < root.scrollTop || top + node.offsetHeight > root.scrollTop + root.clientHeight) root.scrollTop = top - 8
  }
  root.setAttribute("role", data.tokens.length ? "listbox" : "group")
  root.dataset.empty = data.tokens.length ? "" : data.hint
  root.onclick = (event) => {
    const node = event.target.closest(".token")
    if (node) pick([...root.children].indexOf(node))
  }
  root.onkeydown = (event) => {
    const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }
    const ends = { Home: 0, End: data.tokens.length - 1 }
    if (!(event.key in moves) && !(event.key in ends)) return
    event.preventDefault()
    event.stopPropagation() // the page's own keys are not meant here
    pick(event.key in ends ? ends[event.key] : state.shown + moves[event.key])
  }
  show(data.shown)
}

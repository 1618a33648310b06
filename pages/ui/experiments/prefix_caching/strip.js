// A prompt block by block. All text goes in as text, never as markup.
const drawn = new WeakMap()

export default function ({ data, parentElement }) {
  const spelled = JSON.stringify(data)
  if (drawn.get(parentElement) === spelled) return
  drawn.set(parentElement, spelled)
  parentElement.querySelector(".title").textContent = data.title
  const root = parentElement.querySelector(".blocks")
  root.dataset.hint = data.hint
  root.setAttribute("aria-label", data.title)
  root.replaceChildren(
    ...data.blocks.map((block) => {
      const node = document.createElement("span")
      node.className = `block ${block.kind}`
      node.title = block.hint
      for (const token of block.tokens) {
        const part = document.createElement("bdi")
        part.className = token.changed ? "token changed" : "token"
        part.textContent = token.label
        node.append(document.createElement("wbr"), part) // lines break between tokens
      }
      return node
    }),
  )
}

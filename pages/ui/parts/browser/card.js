// A card of text and figures. Everything is set as text: what a learner or a model wrote is never markup.
function element(tag, className, text) {
  const node = document.createElement(tag)
  node.className = className
  node.textContent = text
  return node
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".card")
  root.dataset.accent = data.accent
  root.style.setProperty("--height", data.height ? `${data.height}px` : "0")
  const phases = getComputedStyle(root).getPropertyValue("--st-chart-categorical-colors").split(",")
  root.style.setProperty("--accent", { prefill: phases[0], decode: phases[1] }[data.accent] ?? "inherit")
  const parts = []
  if (data.kicker) parts.push(element("p", "kicker", data.kicker))
  if (data.title) parts.push(element("p", "title", data.title))
  if (data.note) parts.push(element("p", "note", data.note))
  if (data.figures.length) {
    const list = element("dl", "figures", "")
    for (const figure of data.figures) {
      const item = element("div", "figure", "")
      const label = element("dt", "label", figure.label)
      if (figure.hint) label.title = figure.hint
      item.append(label, element("dd", "value", figure.value))
      list.append(item)
    }
    parts.push(list)
  }
  if (data.sentence) parts.push(element("p", "sentence", data.sentence))
  root.replaceChildren(...parts)
}

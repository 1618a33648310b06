// The answer of a plan. Everything is set as text: names come from learners and from links.
function element(tag, className, text) {
  const node = document.createElement(tag)
  node.className = className
  node.textContent = text
  return node
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".pa")
  const phases = getComputedStyle(root).getPropertyValue("--st-chart-categorical-colors").split(",")
  const colours = { prefill: phases[0], decode: phases[1] }
  root.querySelector(".pa-head").textContent = data.head
  root.querySelector(".pa-numbers").replaceChildren(
    ...data.numbers.map((number) => {
      const item = element("div", "pa-number", "")
      item.style.setProperty("--accent", colours[number.phase] ?? "var(--st-border-color)")
      const value = element("dd", "pa-value", number.value)
      const tolerance = element("dd", "pa-best", number.tolerance)
      item.append(element("dt", "pa-label", number.label), value, tolerance, element("dd", "pa-best", number.best))
      return item
    }),
  )
  const words = data.words.map((text) => element("p", "pa-word", text))
  if (data.missing) words.unshift(element("p", "pa-word pa-outside", data.missing))
  if (data.warnings.length) {
    words.push(element("p", "pa-word pa-outside", "Outside what was checked:"))
    const list = element("ul", "pa-list", "")
    list.append(...data.warnings.map((text) => element("li", "", text)))
    words.push(list)
  }
  root.querySelector(".pa-words").replaceChildren(...words)
}

// Fills a table with text. Cells are compared before they are written, so that a redraw moves nothing.
const isNumber = (text) => /^(–$|[-+−]?[\d,.]+)/.test(text) // a dash alone: no number

function cell(row, tag, text, classes) {
  const node = document.createElement(tag)
  node.textContent = text
  node.className = classes.join(" ")
  row.append(node)
  return node
}

export default function ({ data, parentElement }) {
  const find = (name) => parentElement.querySelector(name)
  find(".dt-title").textContent = data.title
  find(".dt-caption").textContent = data.caption
  find(".dt-body").setAttribute("aria-label", data.title || "Table")
  const numeric = data.columns.map((_, place) => data.rows.length > 0 && data.rows.every((row) => !row[place] || isNumber(row[place])))
  const marked = new Set(data.marked.map(String))
  const table = document.createElement("table")
  const head = table.createTHead().insertRow()
  data.columns.forEach((column, place) => {
    cell(head, "th", column, numeric[place] ? ["num"] : []).scope = "col"
  })
  const body = table.createTBody()
  data.rows.forEach((row, line) => {
    const node = body.insertRow()
    row.forEach((text, place) => {
      const classes = [numeric[place] ? "num" : "", marked.has(`${line},${place}`) ? "marked" : ""]
      cell(node, "td", text, classes.filter(Boolean))
    })
  })
  find(".dt-body").replaceChildren(table)
}

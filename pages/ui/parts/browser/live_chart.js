// Draws a Plotly figure once and updates it in place afterwards: the node is never replaced, so nothing flickers.
const LIGHT = { "#D55E00": 0, "#0072B2": 1, "#6E6B64": 2 } // the palette figures are drawn in; index into the theme's
const instances = new WeakMap()

function loadPlotly() {
  window.twoPhasesPlotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script")
    script.src = new URL("plotly.min.js", location.href).href
    const fail = () => reject(new Error("No chart: plotly.min.js could not be loaded. Reload the page, or see its table."))
    script.onload = () => (window.Plotly ? resolve(window.Plotly) : fail()) // a proxy may send a page in its place
    script.onerror = fail
    document.head.append(script)
  })
  return window.twoPhasesPlotly
}

function themeColours(element) {
  const css = getComputedStyle(element)
  const value = (name) => css.getPropertyValue(name).trim()
  const phases = value("--st-chart-categorical-colors").split(",").map((colour) => colour.trim())
  const colours = {
    "#1D1F23": value("--st-text-color"),
    "#FFFFFF": value("--st-secondary-background-color"),
    "#DFDCD3": value("--st-border-color"),
  }
  for (const [colour, place] of Object.entries(LIGHT)) colours[colour] = phases[place] ?? colour
  return colours
}

function recoloured(node, colours) {
  if (typeof node === "string") return colours[node] ?? node
  if (Array.isArray(node)) return node.map((item) => recoloured(item, colours))
  if (node && typeof node === "object") {
    return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, recoloured(item, colours)]))
  }
  return node
}

function element(tag, className, text) {
  const node = document.createElement(tag)
  if (className) node.className = className
  if (text !== undefined) node.textContent = text
  return node
}

function drawTable(state, data, onPick) {
  const table = element("table")
  const head = table.createTHead().insertRow()
  for (const column of data.table.columns) {
    const cell = element("th", "", column)
    cell.scope = "col"
    head.append(cell)
  }
  const body = table.createTBody()
  data.table.rows.forEach((row, place) => {
    const line = body.insertRow()
    row.forEach((value) => line.append(element("td", "", value)))
    const pick = data.table.picks?.[place]
    if (pick !== undefined) {
      const button = element("button", "tp-small", data.pickLabel)
      button.type = "button"
      button.setAttribute("aria-label", `${data.pickLabel} ${row[0]}`)
      button.onclick = () => onPick(pick)
      line.insertCell().append(button)
    }
  })
  state.table.replaceChildren(table)
}

function mount(parentElement) {
  const root = parentElement.querySelector(".tp-chart")
  const find = (name) => root.querySelector(name)
  const state = {
    root,
    title: find(".tp-title"),
    caption: find(".tp-caption"),
    toggle: find(".tp-toggle"),
    plot: find(".tp-plot"),
    table: find(".tp-table"),
    showsTable: false,
  }
  state.resize = new ResizeObserver(() => {
    if (state.plot.data && !state.showsTable && state.plot.clientWidth) window.Plotly.Plots.resize(state.plot)
  })
  state.resize.observe(state.plot)
  return state
}

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  let state = instances.get(parentElement)
  if (!state) instances.set(parentElement, (state = mount(parentElement)))
  const pick = (value) => setTriggerValue("picked", { value, expected: data.expected })

  state.title.textContent = data.title
  state.caption.textContent = data.caption
  state.plot.setAttribute("aria-label", data.alt)
  state.plot.style.height = state.table.style.height = `${data.height}px`
  state.toggle.setAttribute("aria-label", `${data.title} as a table`)
  state.toggle.onclick = () => {
    state.showsTable = !state.showsTable
    setStateValue("table", state.showsTable)
  }
  state.toggle.setAttribute("aria-pressed", String(state.showsTable))
  state.plot.hidden = state.showsTable
  state.table.hidden = !state.showsTable
  if (state.showsTable && data.table) drawTable(state, data, pick)
  if (state.showsTable) return () => state.resize.disconnect()

  loadPlotly().then(
    async (Plotly) => {
      const figure = recoloured(JSON.parse(data.figure), themeColours(state.root))
      await Plotly.react(state.plot, figure.data, figure.layout, { displayModeBar: false, responsive: true })
      if (!state.isListening) {
        state.isListening = true
        state.plot.on("plotly_click", (event) => {
          const value = event.points[0]?.customdata
          if (value !== undefined) state.pick(value)
        })
      }
      state.pick = data.canPick ? pick : () => {}
      state.root.dataset.drawn = data.stamp
    },
    (error) => {
      state.plot.textContent = error.message
    },
  )
  return () => state.resize.disconnect()
}

// Asks for the next step once the last one is on the screen, so playing can never run ahead of what is shown; and
// holds back repeats of the right arrow until what the last press asked for has arrived. In the prompt, Ctrl+Enter runs.
const timers = new WeakMap()
const HELD_MS = 1500 // a press that led to nothing holds back others no longer than this
const LEAVING_MS = 3000 // a tick sent after a click on a link would take the place of the page change it asks for
const gate = { shown: null, closedFor: null, until: 0, leavingUntil: 0 }

function pace(event) {
  if (event.key === " " && event.repeat) event.stopImmediatePropagation() // a held space would play and pause in turn
  if (event.key !== "ArrowRight" || event.target.closest?.("input, textarea, [contenteditable]")) return
  if (gate.closedFor === gate.shown && performance.now() < gate.until) {
    event.stopImmediatePropagation()
    event.preventDefault()
  } else {
    gate.closedFor = gate.shown
    gate.until = performance.now() + HELD_MS
  }
}

function run(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || !event.target.closest?.(".st-key-prompt")) return
  setTimeout(() => document.querySelector(".st-key-prefill button")?.click()) // once Streamlit has taken the text
}

function leave(event) {
  const opensElsewhere = event.ctrlKey || event.metaKey || event.shiftKey
  if (event.target.closest?.("a[href]") && !opensElsewhere) gate.leavingUntil = performance.now() + LEAVING_MS
}

export default function ({ data, parentElement, setTriggerValue }) {
  clearInterval(timers.get(parentElement))
  if (data.expected !== gate.shown) gate.closedFor = null
  gate.shown = data.expected
  removeEventListener("keydown", window.twoPhasesPace, true)
  addEventListener("keydown", pace, true)
  window.twoPhasesPace = pace
  removeEventListener("keydown", window.twoPhasesRun)
  addEventListener("keydown", run)
  window.twoPhasesRun = run
  removeEventListener("click", window.twoPhasesLeave, true)
  addEventListener("click", leave, true)
  window.twoPhasesLeave = leave
  const stop = () => clearInterval(timers.get(parentElement))
  if (!data.isRunning) return stop
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches
  const tick = () => {
    if (performance.now() < gate.leavingUntil) return
    setTriggerValue("ticked", { expected: data.expected, isCalm, sent: performance.now() })
  }
  const first = setTimeout(() => {
    tick()
    timers.set(parentElement, setInterval(tick, 3000)) // a tick lost with the connection is sent again
  }, data.delayMs)
  timers.set(parentElement, first)
  return stop
}

// Asks for the next step once the last one is on the screen, so playing can never run ahead of what is shown.
const timers = new WeakMap()

export default function ({ data, parentElement, setTriggerValue }) {
  clearInterval(timers.get(parentElement))
  if (!data.isRunning) return
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches
  const tick = () => setTriggerValue("ticked", { expected: data.expected, isCalm: calm, sent: performance.now() })
  const first = setTimeout(() => {
    tick()
    timers.set(parentElement, setInterval(tick, 3000)) // a tick lost with the connection is sent again
  }, data.delayMs)
  timers.set(parentElement, first)
  return () => clearInterval(timers.get(parentElement))
}

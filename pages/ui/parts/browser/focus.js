// A keyboard's focus stays on its button when a drawing replaces the button, or disables it for a moment.
let held = null // the class of the box that names the button

function hold(event) {
  const box = event.target.closest?.('[class*="st-key-"]')
  const isHeld = box && event.target.matches("button:focus-visible") // a mouse leaves the keys to the page
  held = isHeld ? [...box.classList].find((name) => name.startsWith("st-key-")) : null
}

function letGo(event) {
  if (event.type === "pointerdown" || event.key === "Tab") held = null
}

function giveBack() {
  if (held && document.activeElement === document.body) {
    document.querySelector(`.${CSS.escape(held)} button:not(:disabled)`)?.focus()
  }
}

export default function () {
  if (window.twoPhasesFocus) return
  window.twoPhasesFocus = new MutationObserver(giveBack)
  const seen = { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] }
  window.twoPhasesFocus.observe(document.body, seen)
  addEventListener("focusin", hold)
  addEventListener("pointerdown", letGo, true)
  addEventListener("keydown", letGo, true)
}

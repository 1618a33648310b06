// The definition of a term, in place: under the pointer, under the keyboard's focus, and kept open by a click.
// It stands in the page's own tree, so that what points at it by its id finds it. Escape closes it.
const SHOWN_MS = 250 // a pointer that only passes opens nothing; one on its way to the definition closes nothing
let box, opener, timer, terms

function linkOf(target) {
  const link = target.closest?.('[data-testid="stMarkdownContainer"] a[href^="#"]')
  const isHeading = link?.closest('[data-testid="stHeaderActionElements"]') // its own address, not a use of the term
  return link && !isHeading && terms[link.getAttribute("href").slice(1)] ? link : null
}

function make() {
  const node = document.createElement("div")
  node.className = "tp-term"
  node.id = "tp-term"
  node.setAttribute("role", "tooltip")
  node.hidden = true
  document.body.append(node)
  return node
}

function show(link) {
  const { term, text } = terms[link.getAttribute("href").slice(1)]
  hide()
  opener = link
  const name = document.createElement("strong")
  name.textContent = term
  box.replaceChildren(name, ` ${text}`)
  link.setAttribute("aria-describedby", box.id)
  link.removeAttribute("title") // the browser's own would lie over it
  box.hidden = false
  const place = link.getBoundingClientRect()
  const left = Math.min(place.left, innerWidth - box.offsetWidth - 8)
  const fitsBelow = place.bottom + box.offsetHeight + 6 < innerHeight
  box.style.left = `${Math.max(left, 8)}px`
  box.style.top = `${fitsBelow ? place.bottom + 4 : Math.max(place.top - box.offsetHeight - 4, 4)}px`
}

function hide() {
  clearTimeout(timer)
  opener?.removeAttribute("aria-describedby")
  opener = null
  box.hidden = true
}

const later = (act) => {
  clearTimeout(timer)
  timer = setTimeout(act, SHOWN_MS)
}

const listeners = {
  pointerover(event) {
    const link = linkOf(event.target)
    if (event.pointerType !== "mouse") return
    if (link && link !== opener) later(() => show(link))
    else if (link || box.contains(event.target)) clearTimeout(timer)
    else if (opener && document.activeElement !== opener) later(hide)
    else clearTimeout(timer)
  },
  focusin(event) {
    const link = linkOf(event.target)
    if (link) show(link)
    else if (opener && !box.contains(event.target)) hide()
  },
  click(event) {
    const link = linkOf(event.target)
    if (link) {
      event.preventDefault() // a definition is no reason to leave a sentence
      event.stopPropagation()
      show(link)
    } else if (!box.contains(event.target)) hide()
  },
  keydown(event) {
    if (event.key === "Escape" && opener) hide()
  },
  scroll() {
    if (opener) hide()
  },
}

export default function ({ data }) {
  terms = data.terms
  box = document.getElementById("tp-term") ?? make()
  for (const [name, listen] of Object.entries(listeners)) addEventListener(name, listen, true)
  const pointed = document.querySelector("a:hover") // since before anyone listened
  if (pointed && linkOf(pointed)) later(() => show(pointed))
  const lessons = data.isLesson ? document.querySelector('[data-testid="stSidebarNav"] a[href$="/lessons"]') : null
  lessons?.setAttribute("aria-current", "true")
  return () => {
    for (const [name, listen] of Object.entries(listeners)) removeEventListener(name, listen, true)
    hide()
    lessons?.removeAttribute("aria-current")
  }
}

// A step, a view or a plan changes the address of the page it is on; Back leads to the page before, not through them.
const push = history.pushState.bind(history)
history.pushState = (state, title, url) => {
  const isSamePage = new URL(url ?? "", location.href).pathname === location.pathname
  return isSamePage ? history.replaceState(state, title, url) : push(state, title, url)
}

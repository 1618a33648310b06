// A range input that speaks only when the learner moves it. (Streamlit's slider also speaks, with an old value, when
// the server moves it while another press is on its way: fast stepping then jumped back.)
export default function ({ data, parentElement, setTriggerValue }) {
  const input = parentElement.querySelector("input")
  input.max = data.maximum
  input.disabled = data.isDisabled
  if (!input.matches(":active")) input.value = data.number
  input.style.setProperty("--done", `${(100 * (input.value - 1)) / Math.max(data.maximum - 1, 1)}%`)
  input.setAttribute("aria-valuetext", `step ${data.number} of ${data.maximum}`)
  input.oninput = () => setTriggerValue("picked", { value: Number(input.value) - 1 })
}

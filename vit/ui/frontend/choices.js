// A template whose parts can be chosen. What has data-choice tells its number when it is clicked; what has data-only
// leaves, of all that have data-words, those on the page that have its word among them. An empty word leaves all.
let only = "";  // it stays while another page is looked at

export default function ({ data: [html], parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".pw-choices");
  if (root.shown !== html) root.innerHTML = html;
  root.shown = html;
  const filter = () => {
    if (![...root.querySelectorAll("[data-only]")].some((button) => button.dataset.only === only)) only = "";
    for (const button of root.querySelectorAll("[data-only]")) button.ariaPressed = String(button.dataset.only === only);
    for (const row of root.querySelectorAll("[data-words]")) {
      row.hidden = only !== "" && !row.dataset.words.split(" ").includes(only);
    }
  };
  filter();
  root.onclick = (event) => {
    const button = event.target.closest("[data-only]"), choice = event.target.closest("[data-choice]");
    if (button) {
      only = button.dataset.only === only ? "" : button.dataset.only;
      filter();
    } else if (choice && !event.ctrlKey && !event.metaKey && !event.shiftKey) {  // or a link opens beside this page
      event.preventDefault();
      setTriggerValue("choice", Number(choice.dataset.choice));
      root.closest("[data-testid=stMain]")?.scrollTo(0, 0);
    }
  };
}

// Runs in the head, before anything is drawn: follows the reader's color scheme until the button changes it.
{
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => { root.dataset.theme = dark.matches ? "dark" : "light"; };
  follow();
  dark.addEventListener("change", follow);
  root.toggleAttribute("data-embedded", window.parent !== window); // inside of another page, such as a report
}

// Before the first paint: the chosen theme, so that nothing flashes.
(function () {
  "use strict";
  try {
    var chosen = localStorage.getItem("lithos-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch (error) { /* storage is switched off: the system's theme */ }
  document.documentElement.classList.add("scripted");
})();

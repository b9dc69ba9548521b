// Finds parts of pages that hold every word that is typed; without a server, and without one being asked for anything. And
// shuts the list of pages where the window is narrow.
const field = document.getElementById("search"), found = document.getElementById("found");
const most = 20;

function matches(words) {
  const out = [];
  for (const part of pages) {
    const title = part.title.toLowerCase(), text = part.text.toLowerCase();
    if (!words.every((word) => title.includes(word) || text.includes(word))) continue;
    const inTitle = words.filter((word) => title.includes(word)).length;
    out.push({part, rank: inTitle, at: text.indexOf(words[0])});
  }
  return out.sort((a, b) => b.rank - a.rank).slice(0, most);
}

function show() {
  const words = field.value.toLowerCase().split(/\s+/).filter((word) => word.length > 0);
  found.replaceChildren();
  found.hidden = words.join("").length < 2;
  if (found.hidden) return;
  for (const {part, at} of matches(words)) {
    const link = document.createElement("a"), about = document.createElement("span"), item = document.createElement("li");
    link.href = root + part.location;
    link.textContent = part.title;
    const begin = Math.max(0, at - 40);
    about.textContent = (begin > 0 ? "... " : "") + part.text.slice(begin, begin + 140).replace(/\s+/g, " ");
    item.append(link, about);
    found.append(item);
  }
  if (!found.firstChild) found.append(Object.assign(document.createElement("li"), {textContent: "Nothing holds all of these words."}));
}

field.addEventListener("input", show);
field.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && found.querySelector("a")) location.href = found.querySelector("a").href;
  if (event.key === "Escape") {
    field.value = "";
    show();
  }
});
if (matchMedia("(max-width: 60rem)").matches) document.querySelector("nav details").open = false;

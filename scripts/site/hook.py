"""For mkdocs: README.md is the site's first page and the notebook a page, and links that leave docs/ lead to nothing there, so
they become what they name; comments by which tests/docs tells how a command is run are not shown. What is searched is written
as a script, which a page may also load where it is read from a disk."""
import json
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)]*)?\)")
COMMENT = re.compile(r"^<!-- .*? -->\n", re.M)


def on_files(files, config):
    """The README stands beside docs/, and is read from there; the notebook's page is made of it."""
    for page in ("index.md", "notebook.md"):
        files.append(File(page, config["docs_dir"], config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_read_source(page, config):
    if page.file.src_path == "notebook.md":
        return notebook_page(json.loads((ROOT / "docs/notebook.ipynb").read_text()))
    return (ROOT / "README.md").read_text() if page.file.src_path == "index.md" else None


def notebook_page(notebook):
    """Its cells with the outputs that are saved beside them."""
    parts = ["[The notebook itself](notebook.ipynb), for Jupyter.\n"]
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "text/html" in data:
                parts.append('<div class="shown">' + "".join(data["text/html"]) + "</div>")
            else:
                parts.append("```\n" + "".join(output.get("text", data.get("text/plain", ""))).rstrip() + "\n```")
    title = parts.pop(1)  # its first cell begins with the heading
    return "\n\n".join([title, *parts])


def on_page_content(html, page, config, files):
    """What is wider than the page scrolls by itself."""
    return html.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")


def on_post_build(config):
    folder = pathlib.Path(config["site_dir"], "search")
    index = json.loads((folder / "search_index.json").read_text())
    pages = {part["location"]: part["title"] for part in index["docs"] if "#" not in part["location"]}
    parts = []
    for part in index["docs"]:
        page, _, anchor = part["location"].partition("#")
        if anchor:  # the parts of a page hold all of it
            title = part["title"] if part["title"] == pages[page] else f'{pages[page]}: {part["title"]}'
            parts.append({"location": part["location"], "title": title, "text": part["text"]})
    (folder / "index.js").write_text("const pages = " + json.dumps(parts, ensure_ascii=False) + ";\n")
    (folder / "search_index.json").unlink()


def on_page_markdown(markdown, page, config, files):
    folder = pathlib.PurePosixPath(page.file.src_path).parent
    known = {file.src_path for file in files}

    def inside(match):
        words, target, anchor = match[1], match[2], match[3] or ""
        if re.match(r"[a-z]+:", target):
            return match[0]
        path = pathlib.PurePosixPath(*_straight(folder / target))
        if page.file.src_path == "index.md":
            path = pathlib.PurePosixPath(*_straight(pathlib.PurePosixPath(target)))
            if path.parts[:1] == ("docs",):
                path = pathlib.PurePosixPath(*path.parts[1:])
        if str(path) == "notebook.ipynb" and page.file.src_path != "notebook.md":
            path = path.with_suffix(".md")
        if str(path) in known:
            up = len(folder.parts)
            return f"[{words}]({'../' * up}{path}{anchor})"
        leaves = path.parts[:1] == ("..",) or page.file.src_path == "index.md" or (ROOT / "docs" / path).is_dir()
        return words if leaves else match[0]  # which mkdocs --strict refuses

    if page.file.src_path == "index.md":
        markdown = markdown.replace("](docs/images/", "](images/")
    return LINK.sub(inside, COMMENT.sub("", markdown))


def _straight(path):
    parts = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return parts

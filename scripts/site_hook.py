"""For mkdocs: README.md is the site's first page, and links that leave docs/ lead to nothing there, so they become what they
name; comments by which tests/docs tells how a command is run are not shown."""
import pathlib
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)]*)?\)")
COMMENT = re.compile(r"^<!-- .*? -->\n", re.M)


def on_files(files, config):
    """The README stands beside docs/, and is read from there."""
    files.append(File("index.md", config["docs_dir"], config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_read_source(page, config):
    return (ROOT / "README.md").read_text() if page.file.src_path == "index.md" else None


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

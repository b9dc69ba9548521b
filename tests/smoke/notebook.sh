# Somebody of Python: pip puts the wheel into an empty environment, and the notebook runs there, its cells one after another
# with the outputs that are saved, then once more by Jupyter where that is installed.
set -e
cd /root
python3 -m venv --system-site-packages env
env/bin/pip install --quiet --no-index --disable-pip-version-check ./*.whl
env/bin/python -c '
import foretrain
print(foretrain.predict("llama-3-8b", cluster="dgx-h100", gpus=64, global_batch=512, plan={"tp": 2, "zero": 1}))'
env/bin/python notebook notebook.ipynb
env/bin/python -c 'import ipykernel, nbconvert' 2> /dev/null || { echo "no Jupyter here: run by tests/notebook alone"; exit; }
env/bin/python -m ipykernel install --prefix env > said 2>&1
env/bin/python -m nbconvert --to notebook --execute --output executed.ipynb notebook.ipynb > said 2>&1 || { cat said; exit 1; }
env/bin/python - << 'CHECK'
import json
cells = [cell for cell in json.load(open("executed.ipynb"))["cells"] if cell["cell_type"] == "code"]
assert cells and not any(output["output_type"] == "error" for cell in cells for output in cell["outputs"])
assert any("text/html" in output.get("data", {}) for cell in cells for output in cell["outputs"])
print(f"{len(cells)} cells run by Jupyter")
CHECK

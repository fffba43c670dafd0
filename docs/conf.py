"""Configuration of the documentation site; `make docs` builds it."""

import re
import warnings

from sphinx_gallery.sorting import ExplicitOrder

import boostne

project = "boostne"
author = "The boostne developers"
project_copyright = author
release = version = boostne.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_templates", "tutorials/*.ipynb", "tutorials/*.py"]
templates_path = ["_templates"]
highlight_language = "none"  # of literal blocks that name none: output and equations

# Pages are also read as plain Markdown files in the repository, so links between them name files.
myst_enable_extensions = ["colon_fence", "deflist", "html_image"]
myst_heading_anchors = 4
# Files outside of this folder that are pages of the site.
PAGES = {
    "../CHANGELOG.md": "changelog.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../README.md": "index.md",
    "../results/results.md": "results.md",
    "../results/tuned/results.md": "results-tuned.md",
}

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # numpydoc shows the types of the docstrings
numpydoc_show_class_members = False  # the template lists them

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "tutorials",
    "filename_pattern": r"\.py$",
    "run_stale_examples": True,  # the library may have changed, even if an example has not
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,  # times depend on the machine
    "write_computation_times": False,
    "remove_config_comments": True,
    "within_subsection_order": ExplicitOrder(
        [
            "few_labels.py",
            "communities.py",
            "links.py",
            "how_it_works.py",
            "parameters.py",
            "up_to_date.py",
            "directed_and_bipartite.py",
            "million_nodes.py",
            "on_a_cluster.py",
            "on_a_gpu.py",
        ]
    ),
    "doc_module": ("boostne",),
    "reference_url": {"boostne": None},
}

html_theme = "pydata_sphinx_theme"
html_title = f"boostne {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = True  # search results quote it
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}  # light or dark, as the system is
html_sidebars = {"quick-start": [], "changelog": [], "api/index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")


def link_to_pages(_app, _docname, source):
    """Let links to other files of the repository lead to their pages."""
    for file, page in PAGES.items():
        source[0] = source[0].replace(f"]({file}", f"]({page}")
    source[0] = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](tutorials/\1.rst)", source[0])


def skip_generated(_app, _what, name, _obj, skip, _options):
    """Leave out the methods that scikit-learn generates for metadata routing."""
    return skip or bool(re.fullmatch(r"set_\w+_request", name))


def setup(app):
    """Connect the functions above to their events."""
    app.connect("source-read", link_to_pages)
    app.connect("autodoc-skip-member", skip_generated)

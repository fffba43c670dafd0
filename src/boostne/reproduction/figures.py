"""The figures of a reproduction in files: charts, and maps of all levels."""

from pathlib import Path

from boostne.reproduction.result_charts import result_charts
from boostne.reproduction.results_folder import read_results_folder
from boostne.visualization.extras import require_matplotlib


def write_figures(folder: Path) -> None:
    """Draw all figures of a results folder as SVG and PNG files in ``folder/figures``; needs matplotlib."""
    require_matplotlib()
    from boostne.visualization.level_figures import save_level_maps
    from boostne.visualization.matplotlib_figures import save_chart

    results = read_results_folder(folder)
    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    for chart in result_charts(results):
        save_chart(chart, figures)
    for one in results.maps:
        save_level_maps(figures / f"map-{one.name}", one.name, one.nodes, one.labels, one.layouts)

"""What MkDocs adds to the pages of this folder while it builds: the page of tables, and dbt's own page.

Holds the two hooks only; the text of the page is made in ``orchestration.docs_tables``.
"""

import json

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from orchestration.dbt import prepared_manifest
from orchestration.dbt_pages import pages_file
from orchestration.docs_tables import documented_tables, tables_page
from orchestration.settings import load_settings


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not written by hand."""
    settings = load_settings()
    dbt_page = pages_file(settings)
    if not dbt_page.exists():
        raise PluginError(f"{dbt_page}: dbt's page is not there; run: make docs")
    manifest = json.loads(prepared_manifest(settings).read_text(encoding="utf-8"))
    files.append(File.generated(config, "tables.md", content=tables_page(documented_tables(manifest))))
    files.append(File.generated(config, "dbt.html", abs_src_path=str(dbt_page)))
    return files

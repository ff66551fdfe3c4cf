"""Everything that is drawn: tables, plots, the HTML report, and the colours of all pages. Reads run folders only."""

"""Tables, figures and the HTML report. Reads run folders only."""

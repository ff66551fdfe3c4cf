"""What was tried where an item does not come out as printed, and what that showed; by the item's name."""

TRIED: dict[str, str] = {
    "flt-figure2": (
        "At small scale an encoder that is not fine-tuned finds the five groups (ARI 1); fine-tuned by every client "
        "for one epoch it has 0.69, for five 0.45: encoders that learn apart put the same image in other places. With "
        "2,400 images for each client and nothing fine-tuned it is 0.81, and 1 without UMAP, or by the nearest "
        "instead of the smallest distance, or by the matched one of the authors' code."
    ),
    "cfl-figure8": (
        "The thresholds of section V-B: eps1 a tenth of the longest mean update, eps2 six times that. Nobody is split "
        "then; with twice eps1 both pairs are, the congruent one in round 25 and the other in round 54."
    ),
}

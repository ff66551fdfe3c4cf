"""A run for other programs: CSV files, TensorBoard, MLflow. Reads run folders only."""

from fedclade.export.targets import TARGETS, export_run

__all__ = ["TARGETS", "export_run"]

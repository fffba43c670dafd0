"""What boostne takes and gives, measured: equality first, then time and memory, as ratios within one run."""

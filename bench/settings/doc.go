// Package settings holds every setting of a run as one row: its name, default, range, which runs look at it, and its help.
package settings

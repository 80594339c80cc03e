// Package files writes files whole or not at all, and reads and writes structs as CSV and arrays as NPY.
package files

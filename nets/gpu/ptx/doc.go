// Package ptx reads PTX and runs it.
package ptx

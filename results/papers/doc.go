// Package papers holds each paper's tables and figures: what they run, what they print, and what draws them.
package papers

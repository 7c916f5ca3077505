// Package report turns a benchmark's results into what people read and programs compare: aligned and Markdown tables,
// quantiles, JSON, a line plot in SVG, a description of the machine, and the section of a document that holds them.
package report

// Package views draws: rows of core/ops in, lines of text out. Draw makes one whole frame of a Screen; Order is the
// filter and the sort of its lists.
//
// What it promises: a frame has exactly the lines and cells that were asked for, from 1x1 up; untrusted text is cleaned
// on its way into a cell; a state is said in a word and a glyph, never by colour alone; what a row does not tell is
// "unknown", and nothing that a row may say ends in a panic; a list costs what its window shows, not what it holds.
// It has no state, does no I/O, asks no clock and no terminal: the same arguments give the same text.
package views

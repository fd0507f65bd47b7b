// Package views draws: rows of core/ops in, text out. It holds no state and does no I/O, asks no clock and no terminal;
// the same arguments give the same text.
//
// What it promises: untrusted text goes through term.Clean on its way in, no line is wider in cells than was asked,
// and a state is always said in a word, never by colour alone. Only the header line exists so far; the screens do not.
package views

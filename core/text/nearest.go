// Package text has what several rooms do with words.
package text

import "strings"

// maxCompared bounds how much of each word Nearest compares, in bytes.
const maxCompared = 64

// Nearest returns the word of known that takes the fewest edits to make of name; the first of several, empty if known is
// empty. It compares the first maxCompared bytes of each.
func Nearest(name string, known []string) string {
	best, least := "", -1
	name = name[:min(len(name), maxCompared)]
	for _, k := range known {
		if d := Distance(name, k[:min(len(k), maxCompared)]); least < 0 || d < least {
			best, least = k, d
		}
	}
	return best
}

// Distance is the Levenshtein distance of a and b, in bytes. It costs the product of their lengths: callers bound them.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// maxEdits is how many edits away a word is still what was meant.
const maxEdits = 2

// Suggest is the word of known that was probably meant by name: one that name begins, or that is at most two edits away; empty if
// none is. Upper and lower case are alike.
func Suggest(name string, known []string) string {
	if len(name) < 2 {
		return ""
	}
	typed := strings.ToLower(name[:min(len(name), maxCompared)])
	for edits := 1; edits <= maxEdits; edits++ {
		for _, k := range known {
			word := strings.ToLower(k[:min(len(k), maxCompared)])
			if strings.HasPrefix(word, typed) || Distance(typed, word) <= edits {
				return k
			}
		}
	}
	return ""
}

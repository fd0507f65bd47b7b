package term

import "strconv"

// Quote is an untrusted name inside a sentence: clean, at most 80 runes, in double quotes.
func Quote(s string) string { return strconv.Quote(Clean(s, 80)) }

package process

import (
	"os"
	"strconv"
	"strings"
)

// words are the words in a file of a control group.
func words(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	return strings.Fields(string(b)), err
}

// countIn is the figure after name in a file with one name and figure a line; 0: none.
func countIn(path, name string) uint64 {
	b, _ := os.ReadFile(path) // a file that cannot be read counts as empty
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			return number(rest)
		}
	}
	return 0
}

// numberIn is the number in a file; 0 if the file has none, such as "max", or cannot be read.
func numberIn(path string) uint64 {
	b, _ := os.ReadFile(path)
	return number(string(b))
}

// number is the decimal number in s, surrounded by blanks or not; 0: none.
func number(s string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

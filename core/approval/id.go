package approval

import (
	"crypto/rand"
	"strings"
)

// idLength is how many characters an id has: people type it.
const idLength = 6

// crockford is the alphabet of ids: 5 bits each, without letters that look like others (https://www.crockford.com/base32.html).
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// newID makes a random id. The store says whether it is new.
func newID() string {
	var raw [idLength]byte
	_, _ = rand.Read(raw[:]) // it never fails
	id := make([]byte, idLength)
	for i, r := range raw {
		id[i] = crockford[r&31]
	}
	return string(id)
}

// readID is an id as a person wrote it.
var readID = strings.NewReplacer("I", "1", "L", "1", "O", "0", " ", "", "-", "")

func canonical(id string) string { return readID.Replace(strings.ToUpper(strings.TrimSpace(id))) }

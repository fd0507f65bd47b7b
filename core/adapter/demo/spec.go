package demo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gatewaytui/core/text"
)

// Spec is one platform of a demo.
type Spec struct {
	// Name is the platform's name: a to z, 0 to 9 and -, beginning with a letter, at most maxName long.
	Name string
	// Behaviour is one of Behaviours.
	Behaviour string
	// Text, if not empty, is what the platform's people say, instead of their own lines.
	Text string
}

const (
	maxName = 32
	// maxPlatforms is far beyond what anyone looks at; each costs a goroutine and a row.
	maxPlatforms = 256
)

// behaviour is one way in which a made-up platform behaves.
type behaviour struct {
	name string

	hangConnect, hangSend, hangCancel, hangDisconnect bool
	fatal, flaky, deaf, failSend, slowDisconnect      bool
}

var behaviours = []behaviour{
	{name: "good"}, // connects, and people talk to it
	{name: "hang-connect", hangConnect: true},       // never gets to a connection
	{name: "hang-send", hangSend: true},             // people talk, and no answer ever gets through to them
	{name: "hang-disconnect", hangDisconnect: true}, // people talk, and it cannot be disconnected
	{name: "fail-send", failSend: true},             // people talk, and every answer to them is refused
	{name: "deaf", deaf: true},                      // connects and never hears anything, so that it goes stale
	{name: "flaky", flaky: true},                    // fails to connect a few times, then is good
	{name: "fatal", fatal: true},                    // refuses its credential
	{name: "slow-disconnect", slowDisconnect: true}, // good, and takes 2 s to disconnect
	// connects, then nothing answers any more: deaf, and every call hangs
	{name: "black-hole", hangSend: true, hangCancel: true, hangDisconnect: true, deaf: true},
}

// Behaviours lists what a platform can be asked to do.
func Behaviours() []string {
	names := make([]string, len(behaviours))
	for i, b := range behaviours {
		names[i] = b.name
	}
	return names
}

func find(name string) (b behaviour, known bool) {
	i := slices.IndexFunc(behaviours, func(b behaviour) bool { return b.name == name })
	if i < 0 {
		return b, false
	}
	return behaviours[i], true
}

// Parse reads NAME=BEHAVIOUR or NAME=BEHAVIOUR:TEXT, several parted by commas. Its errors name the platform and the nearest
// behaviour.
func Parse(list string) ([]Spec, error) {
	parts := strings.Split(list, ",")
	if len(parts) > maxPlatforms {
		return nil, fmt.Errorf("%d demo platforms are too many; name at most %d", len(parts), maxPlatforms)
	}
	specs := make([]Spec, 0, len(parts))
	taken := map[string]bool{}
	for _, part := range parts {
		s, err := parse(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if taken[s.Name] {
			return nil, fmt.Errorf("two demo platforms are named %s; give each its own name", s.Name)
		}
		taken[s.Name] = true
		specs = append(specs, s)
	}
	return specs, nil
}

func parse(part string) (Spec, error) {
	if part == "" {
		return Spec{}, errors.New("a demo platform is missing between two commas; write NAME=BEHAVIOUR,NAME=BEHAVIOUR")
	}
	name, rest, found := strings.Cut(part, "=")
	if !found {
		return Spec{}, fmt.Errorf("demo platform %.64q has no behaviour; write %s, for instance", part, example(name))
	}
	name = strings.TrimSpace(name)
	if err := checkName(name); err != nil {
		return Spec{}, err
	}
	word, said, _ := strings.Cut(rest, ":")
	word = strings.TrimSpace(word)
	if _, known := find(word); !known {
		return Spec{}, fmt.Errorf("demo platform %s cannot be %.64q; did you mean %s? There are %s",
			name, word, text.Nearest(strings.ToLower(word), Behaviours()), strings.Join(Behaviours(), ", "))
	}
	return Spec{Name: name, Behaviour: word, Text: strings.TrimSpace(said)}, nil
}

// example is a whole entry for someone who wrote only a name, or only a behaviour.
func example(word string) string {
	word = strings.TrimSpace(word)
	if _, known := find(word); known {
		return "demo=" + word
	}
	if checkName(word) != nil {
		word = "demo"
	}
	return word + "=good"
}

// checkName says whether a platform can be called name.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("a demo platform has no name; write NAME=BEHAVIOUR")
	case len(name) > maxName:
		return fmt.Errorf("the name of the demo platform %.64q is longer than %d bytes", name, maxName)
	case name == "api", name == "cli":
		return fmt.Errorf("%s is the gateway's own platform; give the demo platform another name", name)
	case name[0] < 'a' || name[0] > 'z', strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	}):
		return fmt.Errorf("a demo platform cannot be named %.64q; a name is made of a-z, 0-9 and -, and begins with a letter", name)
	}
	return nil
}

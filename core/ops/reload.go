package ops

// ChangeClass says when a key of the config holds that has another value in the file.
type ChangeClass string

// The classes. ChangeNow holds from the reload on. ChangeSecurity does as well and may loosen what protects the machine, the money or
// the conversations: config.watch never applies it. ChangeRestart needs a restart of the gateway.
const (
	ChangeNow      ChangeClass = "now"
	ChangeSecurity ChangeClass = "security"
	ChangeRestart  ChangeClass = "restart"
)

// ConfigChange is a key of the config file with another value than the one in force. No value is a secret.
type ConfigChange struct {
	Key string `json:"key"`
	// Old and New are the values as they stand in the file; empty for a table that is not there.
	Old   string      `json:"old"`
	New   string      `json:"new"`
	Class ChangeClass `json:"class"`
}

// Of reports whether the change has one of the classes.
func (c ConfigChange) Of(classes ...ChangeClass) bool {
	for _, class := range classes {
		if c.Class == class {
			return true
		}
	}
	return false
}

// String is the change in one line: "agent.models: ["main"] → ["fast"]".
func (c ConfigChange) String() string {
	switch {
	case c.Old == "":
		return c.Key + ": new"
	case c.New == "":
		return c.Key + ": removed"
	}
	return c.Key + ": " + c.Old + " → " + c.New
}

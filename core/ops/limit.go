package ops

// Limit is one bound of the section [limits] of the config.
type Limit struct {
	// Name is the key in the config: limits.turns.
	Name string `json:"name"`
	// Per is what the bound is counted for: turn, session, tree (of processes), or absent for the whole gateway. Used is then
	// the largest figure of any of them.
	Per   string `json:"per,omitempty"`
	Used  int64  `json:"used"`
	Bound int64  `json:"bound"`
	// Unit is bytes, or absent for a count.
	Unit string `json:"unit,omitempty"`
	// Waiting is how many wait for the bound now; 0 also where what is over the bound is refused.
	Waiting int `json:"waiting"`
	// Reached is how often in this life something had to wait or was refused, LastReachedAt when it was the last time.
	Reached       uint64 `json:"reached"`
	LastReachedAt Time   `json:"last_reached_at"`
}

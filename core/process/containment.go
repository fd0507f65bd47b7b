package process

// Containment returns the level in force, and why it is not a stronger one; empty: it is the strongest. Call it after
// Open.
func (r *Registry) Containment() (level Containment, why string) {
	if r.groups == nil {
		return weakest, r.groupless
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ungrouped.err != nil {
		return weakest, r.ungrouped.err.Error()
	}
	return ContainmentCgroup, ""
}

// noteUnlimited records why the group of the last tree could not be limited; nil: it was.
func (r *Registry) noteUnlimited(err error) {
	r.mu.Lock()
	changed := r.unlimited.set(err)
	r.mu.Unlock()
	if changed && err != nil {
		r.log.Warn("control group not limited", "error", err)
	}
}

// noteUngrouped records why the last spawn had no group for itself; nil: it had one.
func (r *Registry) noteUngrouped(err error) {
	r.mu.Lock()
	changed := r.ungrouped.set(err)
	r.mu.Unlock()
	if changed {
		level, why := r.Containment()
		r.log.Warn("containment changed", "level", level, "reason", why)
	}
}

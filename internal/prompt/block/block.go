// Package block has the names of the blocks, the sections that a prompt consists of.
package block

// The names of the blocks, as recipes and manifests have them.
const (
	Role             = "role"
	Current          = "current_message"
	Recent           = "recent_messages"
	Safety           = "safety"
	Manner           = "manner"
	Now              = "now"
	Foundation       = "foundation_memories"
	Activity         = "recent_activity"
	Loops            = "open_loops"
	Goals            = "goals"
	RelevantMemories = "relevant_memories"
	RelevantMessages = "relevant_messages"
	Timeline         = "timeline"
	Thread           = "thread_history"
	Profile          = "profile"
	Engagement       = "engagement"
	UserSummary      = "user_summary"
	Wins             = "wins"
	Spine            = "spine"
	SessionSummary   = "session_summary"
	Seed             = "seed"
	State            = "session_state"
	SessionSummaries = "session_summaries"
	Expertise        = "expertise"
	Instruction      = "instruction"
)

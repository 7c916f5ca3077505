package conversation

import (
	"strings"

	"github.com/throughline/throughline/internal/fault"
)

// RecordType is the type of a summary (unified-conversation-context, "Existing Pinecone Summary Inventory").
type RecordType string

// The record types, one for each context.
const (
	ConversationSummary    RecordType = "conversation_summary"
	CoachCreatorSummary    RecordType = "coach_creator_summary"
	ProgramDesignerSummary RecordType = "program_designer_summary"
	ProgramSummary         RecordType = "program_summary"
	WorkoutSummary         RecordType = "workout_summary"
)

// Surface describes one context, which is one surface of the app. To add a context, an app adds an entry to Surfaces.
type Surface struct {
	// Context is the name in the API and in sourceContext.
	Context string
	// Label is the name a person reads: "Program Designer".
	Label string
	// Prefix is the start of the sort keys of its sessions. It has one '#', at its end.
	Prefix string
	// EntityType is the entityType of its session records, as in the app's own records.
	EntityType string
	// DefaultMode is the mode of a session that names none.
	DefaultMode string
	// Writes is the record type of its summaries.
	Writes RecordType
	// Reads are the record types of the summaries that its sessions read at their start.
	Reads []RecordType
	// SubjectAttribute, if set, names the session attribute with the id of what a summary is about, such as a program.
	// Each session has its own summary, and readers take the newest one of each subject.
	SubjectAttribute string
	// IDField, if set, names the field of a summary that has the session's id.
	IDField string
	// Rated is true if the model rates the conversation: its summaries have the RatingFields.
	Rated bool
	// Fields are the session attributes that a summary has as fields of its own.
	Fields []Field
}

// Field is a session attribute that summaries have as a field of their own.
type Field struct {
	// Name is the attribute's name. It also covers attributes with dotted names: "metrics" covers "metrics.distanceKm".
	Name string
	// Label is what prompts call the field. Prompts leave out fields without a label.
	Label string
}

// RatingFields are the fields of a summary whose conversation the model rates.
var RatingFields = []string{
	"messageCount", "triggerReason", "confidence", "hasGoals", "hasProgress", "hasEmotionalState",
}

// Surfaces is the registry of contexts, in the order in which they are listed.
var Surfaces = []Surface{
	{
		Context: "coach_conversation", Label: "Coach", Prefix: "conversation#",
		EntityType: "coach_conversation", DefaultMode: "chat", Writes: ConversationSummary,
		Reads:   []RecordType{ProgramDesignerSummary, ProgramSummary, WorkoutSummary},
		IDField: "conversationId", Rated: true,
	},
	{
		Context: "program_designer", Label: "Program Designer", Prefix: "program_session#",
		EntityType: "program_designer_session", DefaultMode: "program_design", Writes: ProgramDesignerSummary,
		Reads: []RecordType{ConversationSummary}, IDField: "sessionId",
		Fields: []Field{
			{"programId", ""},
			{"programName", "program"},
			{"conversationTurns", ""},
			{"trainingGoals", "goals"},
			{"equipmentConstraints", "equipment"},
		},
	},
	{
		Context: "coach_creator", Label: "Coach Creator", Prefix: "coach_creator_session#",
		EntityType: "coach_creator_session", DefaultMode: "coach_creation", Writes: CoachCreatorSummary,
		Reads: []RecordType{ConversationSummary}, IDField: "sessionId",
		Fields: []Field{
			{"coachName", "coach"},
			{"selectedPersonality", "personality"},
			{"selectedMethodology", "methodology"},
			{"experienceLevel", "experience"},
			{"trainingFrequency", "training frequency"},
		},
	},
	{
		Context: "training_program", Label: "Training Program", Prefix: "training_program#",
		EntityType: "training_program_session", DefaultMode: "program", Writes: ProgramSummary,
		Reads:            []RecordType{ConversationSummary, ProgramDesignerSummary},
		SubjectAttribute: "programId",
		Fields: []Field{
			{"programId", ""},
			{"programName", "program"},
			{"totalDays", "days"},
			{"phaseNames", "phases"},
			{"trainingGoals", "goals"},
			{"adherenceRate", "adherence"},
		},
	},
	{
		Context: "workout_log", Label: "Workout Log", Prefix: "workout_session#",
		EntityType: "workout_log_session", DefaultMode: "workout_log", Writes: WorkoutSummary,
		Reads:            []RecordType{ProgramSummary, ConversationSummary},
		SubjectAttribute: "workoutId",
		Fields: []Field{
			{"workoutId", ""},
			{"discipline", "discipline"},
			{"workoutName", "workout"},
			{"completedAt", ""},
			{"prAchievements", "PRs"},
			{"metrics", "metrics"},
		},
	},
}

// SurfaceOf returns the registry entry of a context. For an unknown context it returns an Invalid error that names the
// known ones.
func SurfaceOf(context string) (Surface, error) {
	for _, s := range Surfaces {
		if s.Context == context {
			return s, nil
		}
	}
	return Surface{}, fault.InvalidField("context", "must be one of "+strings.Join(Contexts(), ", "))
}

// LabelOf returns the label of a context, or unknown if the registry does not have the context any more.
func LabelOf(context, unknown string) string {
	for _, s := range Surfaces {
		if s.Context == context {
			return s.Label
		}
	}
	return unknown
}

// SurfaceWriting returns the registry entry of the context that writes summaries of that type. For an unknown type it
// returns an Invalid error.
func SurfaceWriting(t RecordType) (Surface, error) {
	for _, s := range Surfaces {
		if s.Writes == t {
			return s, nil
		}
	}
	return Surface{}, fault.InvalidField("recordTypes", "unknown record type "+string(t))
}

// Contexts lists the names of the registered contexts, in registry order.
func Contexts() []string {
	names := make([]string, len(Surfaces))
	for i, s := range Surfaces {
		names[i] = s.Context
	}
	return names
}

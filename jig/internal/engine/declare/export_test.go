package declare

// Carried is what a value has to pass before it is put into an answer.
var Carried = carried

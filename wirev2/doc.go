package wirev2

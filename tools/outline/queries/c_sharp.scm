(class_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(delegate_declaration name: (identifier) @name) @type
(method_declaration name: (identifier) @name) @function
(constructor_declaration name: (identifier) @name) @function
(property_declaration name: (identifier) @name) @value

; references

(invocation_expression function: (identifier) @reference)
(member_access_expression name: (identifier) @member)
(object_creation_expression type: (identifier) @reference)
(base_list (identifier) @reference)
(parameter type: (identifier) @reference)
(variable_declaration type: (identifier) @reference)
(property_declaration type: (identifier) @reference)
(type_argument_list (identifier) @reference)
(generic_name (identifier) @reference)
(attribute name: (identifier) @reference)

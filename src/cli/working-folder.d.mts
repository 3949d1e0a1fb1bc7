export declare function isInstalledPackage(): boolean;
export declare function workingFolder(): string;
